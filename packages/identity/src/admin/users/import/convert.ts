import { auth0 } from './auth0.ts'
import { firebase } from './firebase.ts'
import { keycloak } from './keycloak.ts'
import type { SourceFormat, SourceParameters, SourceRecord } from './source.ts'

/** Systems whose exports can be read. */
export const sourceNames = ['gatehouse', 'auth0', 'firebase', 'keycloak'] as const
/** One of {@link sourceNames}. */
export type SourceName = (typeof sourceNames)[number]

/** Users as the API takes them. */
const gatehouse: SourceFormat = { recognizes: () => true, convert: (record) => record }

const formats: Readonly<Record<SourceName, SourceFormat>> = { auth0, firebase, keycloak, gatehouse }

/**
 * Converts a user of another system to one that can be imported; without a name the system is recognized by the members
 * of the record. The result is still to be validated.
 *
 * @throws RangeError when a record is not readable, or needs parameters that are missing
 */
export function convertUser(
  record: SourceRecord,
  source: SourceName | undefined,
  parameters: SourceParameters,
): object {
  const format = source
    ? formats[source]
    : (Object.values(formats).find((each) => each.recognizes(record)) ?? gatehouse)
  return format.convert(record, parameters)
}
