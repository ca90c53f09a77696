// Package coretest is for the tests of plugins: a host with one plugin in it, a
// scripted model, a policy and an approver that do as they are told, and checks
// that a plugin leaves nothing behind.
//
//	func TestForecast(t *testing.T) {
//		fx := coretest.Start(t, weather.Plugin, weather.Config{Endpoint: srv.URL})
//		r := fx.Call("weather_lookup", map[string]any{"city": "Oslo"})
//		if r.Err != nil || r.Text() != "sunny" {
//			t.Errorf("got %q, %v", r.Text(), r.Err)
//		}
//	}
//
//	func TestMain(m *testing.M)      { coretest.Main(m) }
//	func TestPlugin(t *testing.T)    { coretest.CheckPlugin(t, weather.Plugin) }
//	func TestNothingLeft(t *testing.T) {
//		coretest.CheckReload(t, weather.Plugin, weather.Config{}, 100)
//	}
//
// Without a policy, core lets tools run that only read; pass [WithPolicy] to
// test others. Services that the plugin needs come with [Provide].
//
// An adapter of models shows with [TestModel] that it keeps the contract of
// llm.Model, against an [Upstream] in its provider's words.
//
// Everything here may be used from any goroutine. Values belong to one test.
package coretest
