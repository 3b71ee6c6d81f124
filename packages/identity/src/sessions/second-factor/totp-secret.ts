import { type KeyRing, seal, unseal } from '@gatehouse/kit'

/** The purpose that a secret is sealed for: another user's row can't take its place. */
export function totpPurpose(userId: string): string {
  return `totp ${userId}`
}

/** Seals the secret of a user's authenticator app. */
export function sealSecret(secret: Uint8Array, encryptionKey: KeyRing, userId: string): string {
  return seal(Buffer.from(secret).toString('base64url'), encryptionKey, totpPurpose(userId))
}

/** Opens the secret of a user's authenticator app. @throws Error when it is another user's */
export function openSecret(sealed: string, encryptionKey: KeyRing, userId: string): Uint8Array {
  return Buffer.from(unseal(sealed, encryptionKey, totpPurpose(userId)), 'base64url')
}
