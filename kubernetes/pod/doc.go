// Package pod translates between container groups and pods: what Muster desires into the
// pods of its runs (New), and what the cluster says of a pod into what Muster wants to know
// (Read). It is pure: it has no clock and no connection.
//
// A run of a group is one pod, which is never restarted: the next run is another pod. All
// that an agent must know of a pod is in the pod's own labels and annotations, so that
// another agent continues with nothing but the cluster.
package pod
