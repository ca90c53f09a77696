package index

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func tools() []Document {
	return []Document{
		{Name: "mcp__mail__send_email", Group: "mail", Description: "Send an email to a recipient."},
		{Name: "mcp__mail__list_folders", Group: "mail", Description: "List the folders of a mailbox."},
		{Name: "weather_lookup", Description: "Current weather and forecast of a city.",
			Parameters: json.RawMessage(`{"properties":{"city":{"description":"City name, any language"}}}`)},
		{Name: "stock_price", Description: "Price of a share."},
		{Name: "发信", Description: "发送邮件给联系人"},
		{Name: "remove_repository", Description: "Remove a repository for good."},
		{Name: "list_repositories", Description: "List repositories of an account."},
		{Name: "image_resize", Description: "Change the size of an image."},
	}
}

func ExampleIndex_Search() {
	words, err := LoadWords()
	if err != nil {
		fmt.Println(err)
		return
	}
	ix := New(tools(), &Options{Words: words})
	for _, h := range ix.Search("will it rain in Paris, what is the weather", &SearchOptions{Limit: 1}) {
		fmt.Println(h.Document.Name)
	}
	// Output: weather_lookup
}

func TestRule27_Ranking(t *testing.T) {
	ix := New(tools(), &Options{Words: words(t)})
	for query, want := range map[string]string{
		"send email":             "mcp__mail__send_email",
		"sending emails":         "mcp__mail__send_email",
		"sendEmail":              "mcp__mail__send_email",
		"WEATHER_LOOKUP":         "weather_lookup",
		"list_folders":           "mcp__mail__list_folders",
		"language":               "weather_lookup",
		"delete repository":      "remove_repository",
		"make a picture smaller": "image_resize",
		"天气预报":                   "weather_lookup",
		"股票价格":                   "stock_price",
		"给联系人发送邮件":               "发信",
	} {
		hits := ix.Search(query, &SearchOptions{Limit: 1})
		if got := names(hits); !slices.Equal(got, []string{want}) {
			t.Errorf("%q: got %v, want %s", query, got, want)
		}
	}
}

func TestRule27_ExactNamesComeFirst(t *testing.T) {
	ix := New([]Document{
		{Name: "mcp__a__send", Description: "send send send"},
		{Name: "mcp__b__send", Description: ""},
		{Name: "send"},
		{Name: "send_mail", Description: "send mail, send it now"},
	}, nil)
	got := names(ix.Search(" SEND ", nil))
	if diff := cmp.Diff([]string{"send", "mcp__a__send", "mcp__b__send", "send_mail"}, got); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
}

func TestRule27_EqualsByName(t *testing.T) {
	var docs []Document
	for _, n := range []string{"q3z", "q1z", "q4z", "q2z"} {
		docs = append(docs, Document{Name: "same_" + n, Description: "Count things."})
	}
	ix := New(docs, &Options{Words: words(t)})
	want := []string{"same_q1z", "same_q2z", "same_q3z", "same_q4z"}
	for _, m := range []Matcher{Semantic, Lexical, Substring, Keyword} {
		if got := names(ix.Search("things", &SearchOptions{Matcher: m})); !slices.Equal(got, want) {
			t.Errorf("matcher %d: %v", m, got)
		}
	}
	if got := names(ix.Search("  ", nil)); !slices.Equal(got, want) {
		t.Errorf("empty query: %v", got)
	}
}

// TestT46_NoDescription: a tool that says nothing of itself is found by its
// name among talkative ones.
func TestT46_NoDescription(t *testing.T) {
	var docs []Document
	for i := range 200 {
		docs = append(docs, Document{
			Name:        fmt.Sprintf("rest_script_call_%d", i),
			Description: "Runs my script on the server, lists every script that is mine, and reports what the script did.",
		})
	}
	docs = append(docs, Document{Name: "mcp__ha__my_script", Group: "ha"})
	ix := New(docs, &Options{Words: words(t)})
	for _, query := range []string{"my_script", "ha my script"} {
		if got := names(ix.Search(query, &SearchOptions{Limit: 1}))[0]; got != "mcp__ha__my_script" {
			t.Errorf("%q: %s is first", query, got)
		}
	}
}

// TestT47_TwoWords: list_accounts is asked for, get_accounts exists.
func TestT47_TwoWords(t *testing.T) {
	docs := []Document{{Name: "get_accounts", Description: "Get accounts."}}
	things := []string{"orders", "users", "files", "events", "teams", "issues", "tags"}
	for i := len(docs); i < 1938; i++ {
		thing := things[i%len(things)]
		docs = append(docs, Document{
			Name:        fmt.Sprintf("list_%s_%d", thing, i),
			Description: fmt.Sprintf("List all %s of the shop.", thing),
		})
	}
	ix := New(docs, &Options{Words: words(t)})
	got := names(ix.Search("list accounts", &SearchOptions{Limit: 5, Admit: true}))
	if !slices.Contains(got, "get_accounts") {
		t.Errorf("not in the top 5: %v", got)
	}
}

func TestT66_BareName(t *testing.T) {
	ix := New([]Document{{Name: "mcp__x__ask_codex"}, {Name: "ask", Description: "Ask codex, ask_codex."}}, nil)
	if got := names(ix.Search("ask_codex", &SearchOptions{Admit: true}))[0]; got != "mcp__x__ask_codex" {
		t.Errorf("%s is first", got)
	}
}

func TestRule27_ChineseMail(t *testing.T) {
	ix := New(tools(), &Options{Words: words(t)})
	for _, o := range []SearchOptions{{Limit: 2, Admit: true}, {Limit: 2}, {Limit: 2, Admit: true, Matcher: Lexical}} {
		got := names(ix.Search("发邮件", &o))
		slices.Sort(got)
		if diff := cmp.Diff([]string{"mcp__mail__send_email", "发信"}, got); diff != "" {
			t.Errorf("%+v: -want +got\n%s", o, diff)
		}
	}
}

func TestRule28_Admission(t *testing.T) {
	ix := New(tools(), &Options{Words: words(t)})
	for query, want := range map[string][]string{
		"send flying saucers":                         {"mcp__mail__send_email"},
		"list the folders":                            {"mcp__mail__list_folders"},
		"zzyzx qwertz":                                {},
		"weather_lookup":                              {"weather_lookup"},
		"list repositories of zzyzx":                  {"list_repositories", "mcp__mail__list_folders", "remove_repository"},
		"current city weather forecast, resize later": {"image_resize", "weather_lookup"},
		"量子香蕉":                                        {},
	} {
		got := names(ix.Search(query, &SearchOptions{Admit: true}))
		slices.Sort(got)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%q: -want +got\n%s", query, diff)
		}
	}
}

func TestRule28_AdmissionKeepsTheOrder(t *testing.T) {
	ix := New(tools(), &Options{Words: words(t)})
	const query = "list the repositories of a mailbox"
	all := names(ix.Search(query, &SearchOptions{Matcher: Lexical}))
	at := -1
	for _, name := range names(ix.Search(query, &SearchOptions{Matcher: Lexical, Admit: true})) {
		i := slices.Index(all, name)
		if i <= at {
			t.Errorf("%s stands elsewhere in %v", name, all)
		}
		at = i
	}
}

func TestLimitCutsTheSameList(t *testing.T) {
	ix := New(tools(), &Options{Words: words(t)})
	for _, m := range []Matcher{Semantic, Lexical, Substring, Keyword} {
		all := names(ix.Search("list or send mail", &SearchOptions{Matcher: m}))
		for n := 1; n <= len(all); n++ {
			got := names(ix.Search("list or send mail", &SearchOptions{Matcher: m, Limit: n}))
			if !slices.Equal(got, all[:n]) {
				t.Errorf("matcher %d, limit %d: %v, of %v", m, n, got, all)
			}
		}
	}
}

func TestMatchers(t *testing.T) {
	ix := New(tools(), &Options{Words: words(t)})
	for _, c := range []struct {
		matcher Matcher
		query   string
		want    []string
	}{
		{Substring, "EMAI nothing", []string{"mcp__mail__send_email"}},
		{Substring, "repositor", []string{"list_repositories", "remove_repository"}},
		{Substring, "the", []string{"image_resize", "mcp__mail__list_folders", "weather_lookup"}},
		{Substring, "zzyzx", []string{}},
		{Keyword, "stock_price", []string{"stock_price"}},
		{Keyword, "folders send", []string{"mcp__mail__list_folders", "mcp__mail__send_email"}},
		{Keyword, "list", []string{"list_repositories", "mcp__mail__list_folders"}},
		{Keyword, "emails", []string{}},
	} {
		got := names(ix.Search(c.query, &SearchOptions{Matcher: c.matcher}))
		if c.matcher == Substring {
			slices.Sort(got)
		}
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("matcher %d, %q: -want +got\n%s", c.matcher, c.query, diff)
		}
	}
}

func TestKeywordTiers(t *testing.T) {
	ix := New([]Document{
		{Name: "a_described", Description: "post post a message to many channels"},
		{Name: "message_queue", Description: "nothing else"},
		{Name: "message"},
		{Name: "post_message"},
	}, nil)
	got := names(ix.Search("message", &SearchOptions{Matcher: Keyword}))
	if diff := cmp.Diff([]string{"message", "message_queue", "post_message", "a_described"}, got); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
}

func TestExplanationAddsUp(t *testing.T) {
	ix := New(tools(), &Options{Words: words(t)})
	for _, query := range []string{"send email to the city", "list repositories", "delete a picture"} {
		for _, h := range ix.Search(query, &SearchOptions{Matcher: Lexical, Explain: true}) {
			e, sum := h.Explanation, 0.0
			for _, x := range e.Fields {
				sum += x
			}
			if got := sum*e.Coverage + e.Neighbours; got < h.Score-0.001 || got > h.Score+0.001 {
				t.Errorf("%q, %s: parts give %f, the score is %f: %+v", query, h.Document.Name, got, h.Score, e)
			}
		}
	}
	h := ix.Search("city names in any language", &SearchOptions{Explain: true})[0]
	if h.Explanation.Fields["parameter_texts"] <= 0 || h.Explanation.Direction == 0 {
		t.Errorf("got %+v", h.Explanation)
	}
}

func FuzzSearch(f *testing.F) {
	w := words(f)
	ix := New(tools(), &Options{Words: w})
	f.Add("send email", uint8(0), uint8(3))
	f.Add("发邮件 list \xff", uint8(1), uint8(0))
	f.Fuzz(func(t *testing.T, query string, matcher, limit uint8) {
		o := SearchOptions{Matcher: Matcher(matcher % 4), Limit: int(limit), Admit: matcher > 127, Explain: true}
		hits := ix.Search(query, &o)
		seen := make(map[string]bool)
		for _, h := range hits {
			if seen[h.Document.Name] || h.Score != h.Score {
				t.Errorf("%q: %v", query, names(hits))
			}
			seen[h.Document.Name] = true
		}
		if again := ix.Search(query, &o); !slices.Equal(names(again), names(hits)) {
			t.Errorf("%q: %v, then %v", query, names(hits), names(again))
		}
	})
}

func FuzzIndex(f *testing.F) {
	w := words(f)
	f.Add("mcp__a__b", "g", "does é 什么", []byte(`{"properties":{"x":{}}}`))
	f.Add("__", "", "", []byte(`{`))
	f.Fuzz(func(t *testing.T, name, group, description string, schema []byte) {
		d := Document{Name: name, Group: group, Description: description, Parameters: schema}
		ix := New(append(tools(), d), &Options{Words: w})
		ix.Search(description, &SearchOptions{Admit: true, Explain: true})
		hits := ix.Search(name, nil)
		if foldName(name) == "" || name == "" {
			return
		}
		if !slices.Contains(names(hits), name) {
			t.Errorf("%q is not found by its name: %q", name, names(hits))
		}
	})
}

// TestNeighboursAddOnlyWhatIsMore: a tool that holds the word itself gains
// nothing by words like it.
func TestNeighboursAddOnlyWhatIsMore(t *testing.T) {
	ix := New([]Document{
		{Name: "image", Description: "picture photo"}, {Name: "photo"}, {Name: "other", Description: "thing"},
	}, &Options{Words: words(t)})
	for _, h := range ix.Search("image", &SearchOptions{Explain: true}) {
		if near := h.Explanation.Neighbours; (h.Document.Name == "photo") != (near > 0) {
			t.Errorf("%s gains %f by like words", h.Document.Name, near)
		}
	}
}

// TestNoDirectionIsNoDisadvantage: words that no vector knows count as far as
// they match.
func TestNoDirectionIsNoDisadvantage(t *testing.T) {
	docs := append(tools(), Document{Name: "qxzvk", Description: "wqxq zzkq"})
	ix := New(docs, &Options{Words: words(t)})
	if got := names(ix.Search("qxzvk zzkq folders", &SearchOptions{Limit: 1}))[0]; got != "qxzvk" {
		t.Errorf("%s is first", got)
	}
}

func TestAskingWordsAskForNothing(t *testing.T) {
	docs := append(tools(), Document{Name: "help_desk_want_ads", Description: "Want ads. Need help?"})
	ix := New(docs, &Options{Words: words(t)})
	got := names(ix.Search("please help me, I want to know the weather", &SearchOptions{Admit: true}))
	if !slices.Equal(got, []string{"weather_lookup"}) {
		t.Errorf("got %v", got)
	}
	if got := names(ix.Search("help", &SearchOptions{Admit: true})); !slices.Equal(got, []string{"help_desk_want_ads"}) {
		t.Errorf("nothing but a word of asking: %v", got)
	}
}

// TestRule28_WeakCharacters: one character of a Chinese query does not keep
// out what holds its words.
func TestRule28_WeakCharacters(t *testing.T) {
	docs := append(tools(), Document{Name: "query_planner", Description: "Query and search and check."})
	for i := range 9 {
		docs = append(docs, Document{Name: fmt.Sprintf("email_%c", 'a'+i), Description: "Something with email."})
	}
	ix := New(docs, &Options{Words: words(t)})
	got := names(ix.Search("查邮件", &SearchOptions{Admit: true}))
	for _, want := range []string{"发信", "mcp__mail__send_email"} {
		if !slices.Contains(got, want) {
			t.Errorf("%s is not in %v", want, got)
		}
	}
}

// TestLimitKeepsTheBest of many, in whatever order they are met.
func TestLimitKeepsTheBest(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	var docs []Document
	for i := range 400 {
		d := randomDocument(r)
		d.Name = fmt.Sprint(d.Name, "_", i)
		docs = append(docs, d)
	}
	ix := New(docs, &Options{Words: words(t)})
	for _, q := range updateQueries {
		for _, m := range []Matcher{Lexical, Semantic} {
			all := names(ix.Search(q, &SearchOptions{Matcher: m}))
			for _, n := range []int{1, 3, 10, 120} {
				got := names(ix.Search(q, &SearchOptions{Matcher: m, Limit: n}))
				if want := all[:min(n, len(all))]; !slices.Equal(got, want) {
					t.Fatalf("%q, %d: got %v, want %v", q, n, got, want)
				}
			}
		}
	}
}
