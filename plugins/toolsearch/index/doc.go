// Package index finds tools by what they do. It ranks the tools of a catalogue
// for a query: by their words (BM25 over weighted fields), by words of like
// meaning, and by the direction of the whole text, with vectors that are
// embedded in the binary; Chinese queries are translated word by word.
//
//	words, err := index.LoadWords()
//	...
//	ix := index.New(docs, &index.Options{Words: words})
//	hits := ix.Search("send an email", &index.SearchOptions{Limit: 5, Admit: true})
//	ix = ix.Sync(changedDocs)
//
// An Index is immutable: any number of goroutines search it without locks,
// and an update makes another index that shares what did not change. Whether
// an index was built at once or by updates can't be told from its answers.
//
// The package knows nothing of agentd; tools come in as documents.
package index
