import type { FirebaseParameters } from '../../../passwords/formats/scrypt.ts'

/** One user as another system writes it. */
export type SourceRecord = Readonly<Record<string, unknown>>

/** What a conversion has to know beside the record. */
export interface SourceParameters {
  readonly firebase?: FirebaseParameters
}

/** The export of another system. */
export interface SourceFormat {
  /** Whether a record is one of this system. */
  recognizes(record: SourceRecord): boolean
  /**
   * The user, not yet validated.
   *
   * @throws RangeError when a record needs parameters that are missing, or is not readable
   */
  convert(record: SourceRecord, parameters: SourceParameters): object
}

const standardNames = ['name', 'given_name', 'family_name', 'nickname', 'picture', 'locale', 'zoneinfo'] as const

/** The standard claims of a record that has them under their own names. */
export function namesOf(record: SourceRecord): Record<string, string> {
  return Object.fromEntries(
    standardNames.flatMap((name) => {
      const value = record[name]
      return typeof value === 'string' && value !== '' ? [[name, value]] : []
    }),
  )
}
