import type { TSchema } from 'typebox'
import type { LimitDocument, LimitKind } from '../model/limit-settings.ts'

/** What identity needs to know of limits, which are the gateway's: their members, and what is allowed. */
export interface LimitRules {
  /** The members of a tier. */
  readonly tier: TSchema
  /** The members of a policy. */
  readonly policy: TSchema
  /** What is wrong with a document; undefined for a valid one. */
  check(document: LimitDocument): LimitFault | undefined
  /** The tier of callers whose plan is none, in a valid document. */
  lowest(document: LimitDocument): string
  /** The limits of the configuration file with the built-in ones, and whether the file declares any. */
  readonly file: DeclaredLimits
}

/** What is wrong with limits. */
export interface LimitFault {
  /** What is not allowed, and what was expected, in words that name the tier or policy. */
  readonly detail: string
  /** Where it is, where one member of one declaration is at fault. */
  readonly place?: LimitFaultPlace
}

/** A member of a declaration. */
export interface LimitFaultPlace {
  readonly kind: LimitKind
  readonly name: string
  /** JSON Pointer into the declaration, such as `/burst/capacity`; empty for the whole. */
  readonly pointer: string
  readonly expected: string
}

/** The limits of a configuration file. */
export interface DeclaredLimits {
  readonly document: LimitDocument
  readonly isDeclared: boolean
  /** Whether there is no file at all: what an earlier one declared stays. Default false. */
  readonly isMissing?: boolean
}
