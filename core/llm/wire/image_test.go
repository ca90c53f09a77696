package wire

import (
	"strings"
	"testing"

	"github.com/agentd-host/agentd/core/llm"
)

const png = "\x89PNG\x0d\x0a\x1a\x0a"

func TestE24_ImagesAreWhatTheirBytesSay(t *testing.T) {
	image := func(mime, data string) llm.Part {
		return llm.Part{Kind: llm.ImagePart, MIME: mime, Data: []byte(data)}
	}
	for name, tt := range map[string]struct {
		in   llm.Part
		want string // the type of the image, or a part of the text in its place
	}{
		"png":           {image("image/png", png), "image/png"},
		"png called x":  {image("text/html", png), "image/png"},
		"gif":           {image("image/png", "GIF89a\x01\x00"), "image/gif"},
		"jpeg":          {image("", "\xff\xd8\xff\xe0"), "image/jpeg"},
		"webp":          {image("image/webp", "RIFF\x00\x00\x00\x00WEBPVP8 "), "image/webp"},
		"svg":           {image("image/svg+xml", "<svg onload=x>"), "is no PNG"},
		"html as png":   {image("image/png", "<html>"), "is no PNG"},
		"nothing":       {image("image/png", ""), "empty image"},
		"too large":     {image("image/png", png+strings.Repeat("x", maxImage)), "too large"},
		"at an address": {llm.Part{Kind: llm.ImagePart, URI: "https://example.org/a.png"}, ""},
	} {
		in := []llm.Part{llm.Text("before"), tt.in, llm.Text("after")}
		got := CheckImages(in)
		if len(got) != 3 || got[0].Text != "before" || got[2].Text != "after" {
			t.Errorf("%s: parts = %+v", name, got)
			continue
		}
		if p := got[1]; p.Kind == llm.ImagePart && p.MIME != tt.want || p.Kind == llm.TextPart && !strings.Contains(p.Text, tt.want) {
			t.Errorf("%s: part = %s %s %.80q, want %s", name, p.Kind, p.MIME, p.Text, tt.want)
		}
		if in[1].MIME != tt.in.MIME {
			t.Errorf("%s: the part that was given was changed", name)
		}
	}
	plain := []llm.Part{llm.Text("a")}
	if got := CheckImages(plain); &got[0] != &plain[0] {
		t.Error("parts without an image were copied")
	}
}
