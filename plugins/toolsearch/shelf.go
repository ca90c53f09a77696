package toolsearch

import (
	"sync"

	"github.com/agentd-host/agentd/plugins/toolsearch/index"
)

// shelf makes the indexes of catalogues, each from the last by difference.
type shelf struct {
	words *index.Words

	mu   sync.Mutex // guards the field below
	last *index.Index
}

func (k *shelf) index(sp *split) *index.Index {
	docs := make([]index.Document, len(sp.found))
	for i, t := range sp.found {
		docs[i] = index.Document{
			Name: t.Name, Group: sp.groups.label(t.Name), Description: t.Description, Parameters: t.Parameters,
		}
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.last == nil {
		k.last = index.New(docs, &index.Options{Words: k.words})
	} else {
		k.last = k.last.Sync(docs)
	}
	return k.last
}
