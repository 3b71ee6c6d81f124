import type { Static } from 'typebox'
import { audit } from '../../audit/record.ts'
import type { AdminContext } from '../../context/features.ts'
import type { SigningAlgorithm } from '../../model/client.ts'
import { type Authority, auditChange } from '../authority.ts'
import type { signingKeySchema } from './responses.ts'

/** A signing key as management returns it, without the private part. */
export type SigningKeyResponse = Static<typeof signingKeySchema>

/** Lists the published signing keys. */
export function listSigningKeys({ keys }: Pick<AdminContext, 'keys'>): SigningKeyResponse[] {
  return keys.list().map((key) => ({
    kid: key.kid,
    alg: key.alg,
    created_at: instant(key.createdAt),
    state: key.state,
    activates_at: instant(key.activatesAt),
    ...(key.dueAt === undefined ? {} : { due_at: instant(key.dueAt) }),
    ...(key.lastTokenExpiresAt === undefined ? {} : { last_token_expires_at: instant(key.lastTokenExpiresAt) }),
    ...(key.expiresAt === undefined ? {} : { expires_at: instant(key.expiresAt) }),
    ...(key.isReadable ? {} : { unreadable: true }),
  }))
}

const instant = (time: number): string => new Date(time).toISOString()

/** Creates a new signing key and returns its kid. @throws Problem 503 */
export async function rotateSigningKey(
  context: AdminContext,
  by: Authority,
  alg: SigningAlgorithm,
  compromised: boolean = false,
): Promise<string> {
  const target = { type: 'signing_key', id: alg }
  await auditChange(context, by, { action: 'signing_keys.rotate', target, after: { compromised } })
  const kid = await context.keys.rotate(alg, compromised)
  const { subject: actor, address: ip = '', requestId: id = '' } = by.actor
  const request = by.unrestricted ? undefined : { ip, id }
  await audit(context, request, 'key_rotated', { actor, details: { alg, kid, compromised } })
  return kid
}
