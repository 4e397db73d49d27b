package cell

// LookAgain is lookAgain.
const LookAgain = lookAgain
