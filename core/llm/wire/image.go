package wire

import (
	"fmt"
	"net/http"

	"github.com/agentd-host/agentd/core/llm"
)

// maxImage is the largest image, in bytes, that every provider takes: the
// smallest limit is 5 MiB after encoding in base64.
const maxImage = 5 << 20 / 4 * 3

// CheckImages puts a text in place of images that providers refuse, and with
// them the whole request, again with every later one: those that are not PNG,
// JPEG, GIF or WebP by their bytes, whatever their type says, those that are
// too large, and those that are nowhere. The parts given are not changed.
func CheckImages(parts []llm.Part) []llm.Part {
	var out []llm.Part
	for i, p := range parts {
		if p.Kind != llm.ImagePart {
			if out != nil {
				out = append(out, p)
			}
			continue
		}
		if out == nil {
			out = append(make([]llm.Part, 0, len(parts)), parts[:i]...)
		}
		out = append(out, checkImage(p))
	}
	if out == nil {
		return parts
	}
	return out
}

func checkImage(p llm.Part) llm.Part {
	if len(p.Data) == 0 {
		if p.URI == "" {
			return llm.Text("[an empty image]")
		}
		return p
	}
	if len(p.Data) > maxImage {
		return llm.Text(fmt.Sprintf("[an image of %d bytes, which is too large to be shown]", len(p.Data)))
	}
	switch is := http.DetectContentType(p.Data); is {
	case "image/png", "image/jpeg", "image/gif", "image/webp":
		p.MIME = is
		return p
	}
	return llm.Text(fmt.Sprintf("[an image of %d bytes that is no PNG, JPEG, GIF or WebP]", len(p.Data)))
}
