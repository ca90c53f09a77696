package index

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
)

func TestRule27_Split(t *testing.T) {
	for in, want := range map[string][]string{
		"":                         nil,
		"get_current-weather.now":  {"get", "current", "weather", "now"},
		"server:tools/list":        {"server", "tools", "list"},
		"getCurrentWeather":        {"get", "current", "weather"},
		"parseHTTPServerResponse2": {"parse", "http", "server", "response", "2"},
		"SQLite3":                  {"sq", "lite", "3"},
		"s3 utf8":                  {"s3", "utf8"},
		"don't I'm we've dog's":    {"don", "i", "we", "dog"},
		"Crème BRÛLÉE":             {"creme", "brulee"},
		"Straße":                   {"strasse"},
		"发送邮件":                     {"发送", "送邮", "邮件"},
		"查 a":                      {"查", "a"},
		"用Git提交":                   {"用", "git", "提交"},
		"ＦＵＬＬ　ｗｉｄｔｈ":               {"full", "width"},
		"ﬁle":                      {"file"},
		"メール送信":                    {"メー", "ール", "ル送", "送信"},
		"이메일":                      {"이메", "메일"},
		"поиск Файлов":             {"поиск", "фаилов"},
	} {
		got := split(nil, in)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("split(%q): -want +got\n%s", in, diff)
		}
	}
}

func FuzzSplit(f *testing.F) {
	f.Add("getHTTPServer 发送邮件 é'll \xff")
	f.Fuzz(func(t *testing.T, text string) {
		for _, w := range split(nil, text) {
			if w == "" && utf8.ValidString(text) && !strings.ContainsFunc(text, func(r rune) bool { return r >= utf8.RuneSelf }) {
				t.Errorf("%q gave an empty word", text)
			}
			if w != lowerASCII(w) {
				t.Errorf("%q gave %q", text, w)
			}
		}
	})
}

func TestRule27_Stem(t *testing.T) {
	for in, want := range map[string]string{
		"caresses": "caress", "ponies": "poni", "cats": "cat", "feed": "feed",
		"agreed": "agre", "plastered": "plaster", "motoring": "motor", "sing": "sing",
		"conflated": "conflat", "sized": "size", "hopping": "hop", "falling": "fall",
		"filing": "file", "happy": "happi", "sky": "sky", "relational": "relat",
		"conditional": "condit", "digitizer": "digit", "predication": "predic",
		"triplicate": "triplic", "electrical": "electr", "goodness": "good",
		"revival": "reviv", "adoption": "adopt", "replacement": "replac",
		"probate": "probat", "rate": "rate", "cease": "ceas", "controll": "control",
		"roll": "roll", "messages": "messag", "emails": "email", "is": "is",
	} {
		if got := stemString(in); got != want {
			t.Errorf("stem of %q is %q, want %q", in, got, want)
		}
	}
}

func FuzzStem(f *testing.F) {
	f.Add("generalizations")
	f.Fuzz(func(t *testing.T, w string) {
		if got := stemString(w); len(got) > len(w)+1 || w != "" && got == "" {
			t.Errorf("stem of %q is %q", w, got)
		}
	})
}
