package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"time"

	"udsbench/janitor"
	"udsbench/pingpong"
	"udsbench/record"
	"udsbench/runner"
)

func main() {
	if len(os.Args) > 1 {
		switch os.Args[1] {
		case pingpong.WorkerArg:
			os.Exit(pingpong.WorkerMain())
		case janitor.Arg:
			janitor.Main(os.Args[2])
		}
	}
	exe, _ := os.Executable()
	c := record.Cell{Request: -1, Response: -1}
	flag.StringVar(&c.Workload, "w", "pingpong", "")
	flag.StringVar(&c.Transport, "t", "", "")
	flag.StringVar(&c.Address, "a", "", "")
	flag.StringVar(&c.Model, "m", "", "")
	flag.StringVar(&c.ServerModel, "sm", "", "")
	flag.BoolVar(&c.OneProcess, "one", false, "")
	flag.StringVar(&c.Clock, "c", "", "")
	flag.IntVar(&c.Parallel, "p", 1, "")
	flag.IntVar(&c.Request, "req", -1, "")
	flag.IntVar(&c.Response, "resp", -1, "")
	ops := flag.Uint64("ops", 0, "")
	v := flag.Bool("v", false, "")
	same := flag.Bool("same", false, "")
	flag.Parse()
	c = pingpong.Catalogue{}.Fill(c)
	if err := (pingpong.Catalogue{}).Check(c); err != nil {
		fmt.Println(err)
		os.Exit(2)
	}
	o := runner.Options{Window: 300 * time.Millisecond, Warmup: 100 * time.Millisecond, Slice: 100 * time.Millisecond, Exe: exe, Ops: *ops}
	if *same {
		o.CPUs = make([]int, 2*c.Parallel)
	}
	rec, err := runner.Run(context.Background(), c, o)
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	if !*v {
		rec.Workers = nil
		rec.Histogram = nil
	}
	json.NewEncoder(os.Stdout).Encode(rec)
}
