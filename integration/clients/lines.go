// What the drivers in Go share: one JSON object in, JSON lines out, commands from standard input.
// Each driver's folder has a link to this file, since a program in Go is one folder.

package main

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// A call that takes longer than this has failed.
const patience = 30 * time.Second

// Driver is a client under its name, and what it does in each role. Beside it, the client's part of the program has
// errorCode, which gives Kafka's number of an error if it is one of Kafka's.
type Driver struct {
	Name   string
	Module string // the library; its version is the one that was linked in
	// Consume is a member until the context ends, and has left when it returns.
	Consume func(context.Context, ConsumerConfig) error
	// Produce returns once every record is acknowledged.
	Produce func(context.Context, ProducerConfig) error
	// Administer connects, and returns the commands that the client has.
	Administer func(AdminConfig) (calls map[string]Call, close func(), err error)
}

// Common is what every role needs.
type Common struct {
	Role      string `json:"role"`
	Bootstrap string `json:"bootstrap"`
	ClientID  string `json:"client_id"`
}

// ConsumerConfig is a member of a group. It has topics or a pattern.
type ConsumerConfig struct {
	Common
	Group               string   `json:"group"`
	Topics              []string `json:"topics"`
	Pattern             *string  `json:"pattern"`
	Assignors           []string `json:"assignors"`
	InstanceID          *string  `json:"instance_id"`
	SessionTimeoutMs    int      `json:"session_timeout_ms"`
	HeartbeatIntervalMs int      `json:"heartbeat_interval_ms"`
	RebalanceTimeoutMs  int      `json:"rebalance_timeout_ms"`
	MetadataMaxAgeMs    int      `json:"metadata_max_age_ms"`
}

// ProducerConfig says what to send: record i is prefix + i and goes to partition i % partitions.
type ProducerConfig struct {
	Common
	Topic       string `json:"topic"`
	Count       int    `json:"count"`
	Partitions  int    `json:"partitions"`
	Prefix      string `json:"prefix"`
	Acks        int    `json:"acks"`
	Idempotence *bool  `json:"idempotence"`
	Compression string `json:"compression"`
}

// Record is the i-th record's partition, key and value.
func (config ProducerConfig) Record(i int) (partition int, key, value []byte) {
	number := strconv.Itoa(i)
	return i % config.Partitions, []byte(number), []byte(config.Prefix + number)
}

// AdminConfig is an operator.
type AdminConfig struct {
	Common
}

// Partition is written as [topic, number].
type Partition struct {
	Topic  string
	Number int
}

// MarshalJSON writes the pair.
func (p Partition) MarshalJSON() ([]byte, error) { return json.Marshal([]any{p.Topic, p.Number}) }

// UnmarshalJSON reads the pair.
func (p *Partition) UnmarshalJSON(text []byte) error { return tuple(text, &p.Topic, &p.Number) }

// Offset is written as [topic, number, offset].
type Offset struct {
	Partition
	At int64
}

// MarshalJSON writes the triple.
func (o Offset) MarshalJSON() ([]byte, error) { return json.Marshal([]any{o.Topic, o.Number, o.At}) }

// UnmarshalJSON reads the triple.
func (o *Offset) UnmarshalJSON(text []byte) error { return tuple(text, &o.Topic, &o.Number, &o.At) }

// Position is an offset of a partition whose topic is known: [number, offset].
type Position struct {
	Number int
	At     int64
}

// MarshalJSON writes the pair.
func (p Position) MarshalJSON() ([]byte, error) { return json.Marshal([]any{p.Number, p.At}) }

// UnmarshalJSON reads the pair.
func (p *Position) UnmarshalJSON(text []byte) error { return tuple(text, &p.Number, &p.At) }

// Record is what a consumer was given: [topic, partition, offset, value].
type Record struct {
	Offset
	Value []byte
}

// MarshalJSON writes the quadruple.
func (r Record) MarshalJSON() ([]byte, error) {
	return json.Marshal([]any{r.Topic, r.Number, r.At, string(r.Value)})
}

var writing sync.Mutex

// Fields of an event.
type Fields map[string]any

// Tell writes one event.
func Tell(event string, fields Fields) {
	if fields == nil {
		fields = Fields{}
	}
	fields["event"] = event
	var line bytes.Buffer
	encoder := json.NewEncoder(&line)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(fields); err != nil {
		panic(err) // only what this program itself put together
	}
	writing.Lock()
	defer writing.Unlock()
	if _, err := os.Stdout.Write(line.Bytes()); err != nil {
		os.Exit(1) // nobody listens
	}
}

// TellPartitions writes an event about partitions.
func TellPartitions(event string, partitions []Partition) {
	if partitions == nil {
		partitions = []Partition{}
	}
	slices.SortFunc(partitions, comparePartitions)
	Tell(event, Fields{"partitions": partitions})
}

// TellRecords writes an event about records, and returns the positions behind them, to be committed.
func TellRecords(records []Record) []Offset {
	Tell("records", Fields{"records": records})
	behind := map[Partition]int64{}
	for _, record := range records {
		behind[record.Partition] = max(behind[record.Partition], record.At+1)
	}
	offsets := make([]Offset, 0, len(behind))
	for partition, at := range behind {
		offsets = append(offsets, Offset{partition, at})
	}
	return sorted(offsets)
}

// TellCommitted writes an event about offsets that the server has stored.
func TellCommitted(offsets []Offset) { Tell("committed", Fields{"offsets": offsets}) }

// TellError writes an event about what went wrong in the consumer or producer.
func TellError(err error, fatal bool) {
	Tell("error", Fields{"message": err.Error(), "code": code(err), "fatal": fatal})
}

// Milliseconds is a duration of so many.
func Milliseconds(count int) time.Duration { return time.Duration(count) * time.Millisecond }

// Run is the program: it reads the configuration, says that it is ready, and does what its role is.
func (driver Driver) Run() {
	Tell("ready", Fields{"client": driver.Name, "version": version(driver.Module)})
	if err := driver.run(); err != nil {
		TellError(err, true)
		os.Exit(1)
	}
	Tell("closed", nil)
}

func (driver Driver) run() error {
	if len(os.Args) != 2 {
		return errors.New("one argument is expected, a JSON object")
	}
	argument := []byte(os.Args[1])
	var common Common
	if err := json.Unmarshal(argument, &common); err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	switch common.Role {
	case "consumer":
		config := ConsumerConfig{}
		if err := decode(argument, &config); err != nil {
			return err
		}
		if (len(config.Topics) == 0) == (config.Pattern == nil) {
			return errors.New("a consumer has topics or a pattern, not both")
		}
		go obey(cancel)
		return driver.Consume(ctx, config)
	case "producer":
		config := ProducerConfig{Acks: -1, Compression: "none"}
		if err := decode(argument, &config); err != nil {
			return err
		}
		if err := driver.Produce(ctx, config); err != nil {
			return err
		}
		Tell("produced", Fields{"count": config.Count})
		return nil
	case "admin":
		config := AdminConfig{}
		if err := decode(argument, &config); err != nil {
			return err
		}
		return driver.serve(config)
	}
	return fmt.Errorf("there is no role %q", common.Role)
}

// obey ends the consumer when it is told to close, or when nobody is there any more who could.
func obey(close func()) {
	for text := range lines() {
		if do, err := do(text); err != nil || do != "close" {
			TellError(fmt.Errorf("a consumer can be told to close, not this: %s", text), false)
			continue
		}
		break
	}
	close()
}

// code is the number of the error, or null.
func code(err error) any {
	if number, known := errorCode(err); known {
		return number
	}
	return nil
}

// lines of standard input, one JSON object each, until it ends.
func lines() func(yield func([]byte) bool) {
	return func(yield func([]byte) bool) {
		scanner := bufio.NewScanner(os.Stdin)
		scanner.Buffer(nil, 16<<20)
		for scanner.Scan() {
			if !yield(scanner.Bytes()) {
				return
			}
		}
		if err := scanner.Err(); err != nil {
			fmt.Fprintln(os.Stderr, "standard input:", err)
		}
	}
}

func do(text []byte) (string, error) {
	var command struct {
		Do string `json:"do"`
	}
	err := json.Unmarshal(text, &command)
	return command.Do, err
}

// decode takes no key that the value does not have.
func decode(text []byte, value any) error {
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.DisallowUnknownFields()
	return decoder.Decode(value)
}

func tuple(text []byte, parts ...any) error {
	count := len(parts)
	if err := json.Unmarshal(text, &parts); err != nil {
		return err
	}
	if len(parts) != count {
		return fmt.Errorf("%s should have %d parts", text, count)
	}
	return nil
}

func comparePartitions(a, b Partition) int {
	return cmp.Or(cmp.Compare(a.Topic, b.Topic), cmp.Compare(a.Number, b.Number))
}

func sorted(offsets []Offset) []Offset {
	slices.SortFunc(offsets, func(a, b Offset) int { return comparePartitions(a.Partition, b.Partition) })
	return offsets
}

// version is that of the module which was linked in, without its "v".
func version(module string) string {
	built, known := debug.ReadBuildInfo()
	if known {
		for _, dependency := range built.Deps {
			if dependency.Path == module {
				return strings.TrimPrefix(dependency.Version, "v")
			}
		}
	}
	return "unknown"
}
