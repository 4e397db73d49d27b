// Package jail isolates the processes of builds as far as the machine supports it:
// which users they run as, what they see and how much they may use. Package isolate puts
// one process into its jail.
//
// A Jailer knows what the machine supports and assigns users. The game servers of an
// instance share a Jail; each install script runs as a guest with its own user.
//
//	ROOT/last-user              the number of the user that was assigned last
//	ROOT/instances/ID/user      the number of the instance's user
//	ROOT/instances/ID/temp-PID  temporary files of a process
//	ROOT/staging/               builds whose install scripts run
//
// The agents of one machine share the users: a folder of claims records which agent uses
// which user.
package jail
