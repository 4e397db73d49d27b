package pod

import (
	"crypto/sha256"
	"encoding/hex"
	"strconv"
	"strings"
)

// domain is the prefix of our labels and annotations.
const domain = "musterhq.github.io/"

// The labels of pods and Secrets.
const (
	LabelAgent    = domain + "agent"    // name of the muster-kubernetes that made it
	LabelInstance = domain + "instance" // id of the instance
	LabelFleet    = domain + "fleet"    // id of the fleet
	LabelGroup    = domain + "group"    // name of the group on the instance
	LabelProcess  = domain + "process"  // id of the game server's process
	LabelBusy     = domain + "busy"     // "true" while it hosts a game session

	LabelManager = "app.kubernetes.io/managed-by"
	Manager      = "muster-kubernetes"
)

// The annotations of pods.
const (
	noteDefinition = domain + "definition" // ARN of the version of the group's definition
	noteFleetID    = domain + "fleet-id"
	noteRun        = domain + "run"        // number of the run, from 1
	noteCrashes    = domain + "crashes"    // consecutive crashes before this run
	noteContainers = domain + "containers" // how containers are called here and there, and what they are
	NoteReason     = domain + "end-reason" // event code of the request that ended it
	noteReported   = domain + "reported"   // "true" once Muster has stored how it ended

	// What autoscalers of clusters respect: nodes with such a pod are not removed.
	noteSafeToEvict = "cluster-autoscaler.kubernetes.io/safe-to-evict"
	noteNoDisrupt   = "karpenter.sh/do-not-disrupt"
)

// maxName bounds a part of a name, so that a pod's name fits a label.
const maxName = 48

// name returns a text as a part of the names of objects: lower-case letters, digits and
// hyphens. A text that had to be changed gets a part of its hash, so that different texts
// have different names.
func name(text string) string {
	var b strings.Builder
	for _, c := range strings.ToLower(text) {
		if c >= 'a' && c <= 'z' || c >= '0' && c <= '9' {
			b.WriteRune(c)
		} else {
			b.WriteByte('-')
		}
	}
	plain := strings.Trim(b.String(), "-")
	if plain == text && text != "" && len(text) <= maxName {
		return text
	}
	sum := sha256.Sum256([]byte(text))
	plain = strings.Trim(plain[:min(len(plain), maxName-9)], "-")
	if plain == "" {
		plain = "x"
	}
	return plain + "-" + hex.EncodeToString(sum[:4])
}

// Name returns the name of the pod of a run. It is the same for every agent, so that a run
// has one pod even if two agents create it.
func Name(instanceID, group string, run int) string {
	return name(instanceID+"-"+group) + "-" + strconv.Itoa(run)
}

// SecretName returns the name of the Secret with the tokens of an instance's groups.
func SecretName(instanceID string) string { return name(instanceID) + "-tokens" }

// SecretKey returns the key of a group's token in that Secret.
func SecretKey(group string) string { return name(group) }

// Label returns a text as a label's value.
func Label(text string) string {
	if len(text) <= 63 && strings.Trim(text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.") == "" && strings.Trim(text, "-_.") == text {
		return text
	}
	return name(text)
}
