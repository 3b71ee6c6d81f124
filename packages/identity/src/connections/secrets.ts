import { randomUUIDv7 } from 'node:crypto'
import { type KeyRing, seal, unseal } from '@gatehouse/kit'
import type { ConnectionDeclaration } from '../config/connections.ts'
import type { Connection, ConnectionSettings } from '../model/connection.ts'
import type { ProviderSession } from '../model/grants/session.ts'
import type { ProviderSessionRecord } from '../store/index.ts'

/** What a connection authenticates with at its provider. */
export type ConnectionSecrets = Pick<ConnectionDeclaration, 'client_secret' | 'private_key'>

/** The purpose that the secrets of a connection are sealed for. */
export function connectionPurpose(id: string): string {
  return `connection ${id}`
}

/** The purpose that a flow is sealed for. */
export function connectionFlowPurpose(hash: string): string {
  return `connection flow ${hash}`
}

/** The purpose that a provider's response is sealed for. */
export function connectionResponsePurpose(hash: string): string {
  return `connection response ${hash}`
}

/** The record of a session's account at a provider, with its ID token sealed. */
export function sealProviderSession(
  key: KeyRing,
  { linkId, sid, idToken, since }: Pick<ProviderSession, 'linkId' | 'sid' | 'idToken' | 'since'>,
): ProviderSessionRecord {
  const id = randomUUIDv7()
  const idTokenSealed = idToken === undefined ? undefined : seal(idToken, key, providerSessionPurpose(id))
  return { id, linkId, sid, idTokenSealed, since }
}

/** The purpose that the ID token of a session is sealed for. */
export function providerSessionPurpose(id: string): string {
  return `provider session ${id}`
}

/** Separates the secrets of a declaration from its other members. */
export function splitSecrets({ id: _id, client_secret, private_key, ...settings }: ConnectionDeclaration): {
  readonly settings: ConnectionSettings
  readonly secrets: ConnectionSecrets
} {
  return {
    settings,
    secrets: {
      ...(client_secret === undefined ? {} : { client_secret }),
      ...(private_key === undefined ? {} : { private_key }),
    },
  }
}

/** Seals the secrets of a connection; undefined when there are none. */
export function sealSecrets(key: KeyRing, id: string, secrets: ConnectionSecrets): string | undefined {
  if (Object.keys(secrets).length === 0) return undefined
  return seal(JSON.stringify(secrets), key, connectionPurpose(id))
}

/** Opens the secrets of a connection. */
export function openSecrets(
  key: KeyRing,
  { id, secretSealed }: Pick<Connection, 'id' | 'secretSealed'>,
): ConnectionSecrets {
  return secretSealed === undefined ? {} : JSON.parse(unseal(secretSealed, key, connectionPurpose(id)))
}
