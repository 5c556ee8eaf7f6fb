package plan

import (
	"errors"
	"strings"
	"testing"
)

func TestParseInstrument(t *testing.T) {
	for value, want := range map[string]Instrument{
		"locks":                            {What: "locks"},
		"sched+stacks":                     {What: "sched", Stacks: true},
		"all+stacks":                       {What: "all", Stacks: true},
		"locks+nostacks":                   {What: "locks", NoStacks: true},
		"locks+depth=8":                    {What: "locks", Depth: 8},
		"locks+source=perf":                {What: "locks", Source: "perf"},
		"locks+contested":                  {What: "locks", Contested: true},
		"all+depth=127+stacks+source=ebpf": {What: "all", Depth: 127, Stacks: true, Source: "ebpf"},
		"counters":                         {What: "counters"},
	} {
		if got, err := ParseInstrument(value); err != nil || got != want {
			t.Errorf("%s: %+v, %v", value, got, err)
		}
	}
	if i := (Instrument{What: "all"}); !i.Has("locks") || !i.Has("counters") || (Instrument{What: "sched"}).Has("locks") || (Instrument{}).Has("locks") {
		t.Error("what is looked at")
	}
	for value, want := range map[string]string{
		"": "give one of", "lock": "give one of", "stacks": "give one of",
		"locks+stacks": "an option of sched and all", "sched+nostacks": "an option of locks and all", "counters+source=perf": "an option of locks and all",
		"locks+depth=7": "from 8 to 127", "locks+depth=128": "from 8 to 127", "locks+depth": "from 8 to 127", "locks+depth=x": "from 8 to 127",
		"locks+source=": "is not known", "locks+source": "is not known", "locks+nostacks=1": "is not known", "locks+": "is not known",
		"locks+nostacks+nostacks": "stands twice", "locks+source=a+source=b": "stands twice", "locks+nostacks+depth=9": "leave one of the two out",
	} {
		_, err := ParseInstrument(value)
		var usage *UsageError
		if !errors.As(err, &usage) || usage.Flag != "instrument" || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%q: %v, want %q", value, err, want)
		}
	}
}
