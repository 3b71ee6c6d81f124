/** What is wrong with a rule or a policy. */
export interface PolicyFault {
  /** The rule that is at fault; undefined for the policy. */
  readonly rule?: string | undefined
  /** The member of the rule or policy that is at fault. */
  readonly member?: string | undefined
  /** What is expected of it. */
  readonly expected: string
}

/** A rule or policy that is not allowed. */
export class PolicyError extends RangeError {
  /** What is wrong. */
  readonly fault: PolicyFault

  constructor(message: string, fault: PolicyFault) {
    super(message)
    this.name = 'PolicyError'
    this.fault = fault
  }
}

/** The place of a fault in the declaration of a tier or policy. */
export interface DeclarationPlace {
  /** Whether it is the declaration of a tier. */
  readonly isTier: boolean
  /** The tier or policy. */
  readonly name: string
  /** The member as a JSON Pointer (RFC 6901), such as `/burst/capacity`; empty for the declaration as a whole. */
  readonly pointer: string
  /** What is expected of it. */
  readonly expected: string
}

/** A declaration that is not allowed, with the member that is at fault. */
export class DeclarationError extends RangeError {
  /** Where the fault is. */
  readonly place: DeclarationPlace

  constructor(message: string, place: DeclarationPlace) {
    super(message)
    this.name = 'DeclarationError'
    this.place = place
  }
}
