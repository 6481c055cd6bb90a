// An operator's commands, as the drivers in Go share them. Each driver's folder has a link to this file.

package main

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
)

// Call carries out one command; it gets the command's own text.
type Call func(context.Context, json.RawMessage) (any, error)

// Command makes a Call of a function that takes the command's fields as a struct; other fields are an error.
func Command[Arguments any](carryOut func(context.Context, Arguments) (any, error)) Call {
	return func(ctx context.Context, text json.RawMessage) (any, error) {
		var given map[string]json.RawMessage
		if err := json.Unmarshal(text, &given); err != nil {
			return nil, err
		}
		delete(given, "do")
		rest, err := json.Marshal(given)
		if err != nil {
			return nil, err
		}
		var arguments Arguments
		if err := decode(rest, &arguments); err != nil {
			return nil, err
		}
		return carryOut(ctx, arguments)
	}
}

// The fields of commands, as far as several have the same.
type (
	Nothing   struct{}
	GroupOnly struct {
		Group string `json:"group"`
	}
	TopicOnly struct {
		Topic string `json:"topic"`
	}
	GroupOffsets struct {
		Group   string   `json:"group"`
		Offsets []Offset `json:"offsets"`
	}
	GroupPartitions struct {
		Group      string      `json:"group"`
		Partitions []Partition `json:"partitions"`
	}
	GroupInstances struct {
		Group       string   `json:"group"`
		InstanceIDs []string `json:"instance_ids"` // null is all members
	}
	NewTopic struct {
		Topic      string            `json:"topic"`
		Partitions int               `json:"partitions"`
		Configs    map[string]string `json:"configs"`
	}
	TopicCount struct {
		Topic string `json:"topic"`
		Count int    `json:"count"`
	}
	Resource struct {
		Type string `json:"type"` // topic or broker
		Name string `json:"name"`
	}
	TopicChanges struct {
		Topic  string            `json:"topic"`
		Set    map[string]string `json:"set"`
		Delete []string          `json:"delete"`
	}
	TopicTime struct {
		Topic     string `json:"topic"`
		Timestamp int64  `json:"timestamp"`
	}
	TopicPositions struct {
		Topic   string     `json:"topic"`
		Offsets []Position `json:"offsets"`
	}
)

// Commands that a driver may lack; what is not among them is a mistake in the question.
var commands = []string{
	"list_groups", "describe_group", "list_offsets", "alter_offsets", "delete_offsets", "delete_group", "remove_members",
	"create_topic", "delete_topic", "create_partitions", "describe_topic", "describe_configs", "alter_configs",
	"describe_cluster", "topic_offsets", "delete_records",
}

// Group is the answer to describe_group.
type Group struct {
	State        string   `json:"state"`
	ProtocolType string   `json:"protocol_type"`
	Protocol     string   `json:"protocol"`
	Members      []Member `json:"members"`
}

// Member is one of a described group; metadata and assignment are written in base64.
type Member struct {
	MemberID   string  `json:"member_id"`
	ClientID   string  `json:"client_id"`
	Host       string  `json:"host"`
	InstanceID *string `json:"instance_id"`
	Metadata   []byte  `json:"metadata"`
	Assignment []byte  `json:"assignment"`
}

// Cluster is the answer to describe_cluster; a broker is its id, host and port.
type Cluster struct {
	ClusterID  string   `json:"cluster_id"`
	Controller int      `json:"controller"`
	Brokers    [][3]any `json:"brokers"`
}

func (driver Driver) serve(config AdminConfig) error {
	calls, close, err := driver.Administer(config)
	if err != nil {
		return err
	}
	defer close()
	for text := range lines() {
		name, err := do(text)
		if err != nil {
			return err
		}
		if name == "close" {
			break
		}
		answer(name, calls[name], text)
	}
	return nil
}

func answer(name string, call Call, text []byte) {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	var value any
	err := fmt.Errorf("there is no command %q", name)
	switch {
	case call != nil:
		value, err = call(ctx, text)
	case slices.Contains(commands, name):
		Tell("unsupported", Fields{"do": name})
		return
	}
	if err != nil {
		Tell("error", Fields{"do": name, "message": err.Error(), "code": code(err)})
		return
	}
	Tell("result", Fields{"do": name, "value": value})
}
