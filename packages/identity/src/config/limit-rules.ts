import type { TSchema } from 'typebox'
import type { LimitDocument } from '../model/limit-settings.ts'

/** What identity needs to know of limits, which are the gateway's: their members, and what is allowed. */
export interface LimitRules {
  /** The members of a tier. */
  readonly tier: TSchema
  /** The members of a policy. */
  readonly policy: TSchema
  /** What is wrong with a document; undefined for a valid one. */
  check(document: LimitDocument): string | undefined
  /** The tier of callers whose plan is none, in a valid document. */
  lowest(document: LimitDocument): string
  /** The limits of the configuration file with the built-in ones, and whether the file declares any. */
  readonly file: DeclaredLimits
}

/** The limits of a configuration file. */
export interface DeclaredLimits {
  readonly document: LimitDocument
  readonly isDeclared: boolean
}
