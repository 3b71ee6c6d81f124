import type { Static } from 'typebox'
import type { Parts } from '../parts.ts'
import type { signingKeyAnswer } from './answers.ts'

/** What operators may know of a signing key. */
export type SigningKeyAnswer = Static<typeof signingKeyAnswer>

export function listSigningKeys({ keys }: Pick<Parts, 'keys'>): SigningKeyAnswer[] {
  return keys.list().map(({ kid, alg, createdAt, activatesAt, expiresAt }) => ({
    kid,
    alg,
    created_at: new Date(createdAt).toISOString(),
    activates_at: new Date(activatesAt).toISOString(),
    ...(expiresAt === undefined ? {} : { expires_at: new Date(expiresAt).toISOString() }),
  }))
}
