package main

import (
	_ "github.com/HdrHistogram/hdrhistogram-go"
	_ "github.com/mattn/go-sqlite3"
	_ "github.com/ncruces/go-sqlite3/driver"
	_ "github.com/ncruces/go-sqlite3/embed"
	_ "modernc.org/sqlite"
	_ "zombiezen.com/go/sqlite"
)

func main() {}
