import { randomToken, Secret, seal, tokenHash, unseal } from '@gatehouse/kit'
import type { MacKey } from '../keys/mac-key.ts'

/** A parsed refresh token. */
export interface RefreshToken {
  /**
   * Whether its signature is valid. A token that was signed with a removed encryption key is genuine if its hash is
   * stored; any other token without a valid signature is forged and must revoke nothing.
   */
  readonly isSigned: boolean
  readonly grantId: string
  readonly generation: number
  readonly hash: string
}

const form = /^rt_([0-9a-f]{32})\.([0-9a-z]{1,7})\.([\w-]{43})\.([\w-]{43})$/

/**
 * Creates a refresh token. It contains its grant and its generation and is signed, so that an old token is recognized
 * without being stored, and a forged one revokes nothing.
 */
export function createRefreshToken(mac: MacKey, grantId: string, generation: number): string {
  const body = `rt_${grantId.replaceAll('-', '')}.${generation.toString(36)}.${randomToken()}`
  return `${body}.${mac.sign(body)}`
}

/** Parses a refresh token; undefined for anything of another format. */
export function readRefreshToken(mac: MacKey, token: string): RefreshToken | undefined {
  const [, grant, generation, , signature] = form.exec(token) ?? []
  if (grant === undefined || generation === undefined || signature === undefined) return undefined
  const grantId = grant.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5')
  const isSigned = mac.verify(token.slice(0, token.lastIndexOf('.')), signature)
  return { isSigned, grantId, generation: Number.parseInt(generation, 36), hash: tokenHash(token) }
}

/** Whether this server issued the token: it is signed, or the family stores its hash. */
export function isGenuine(
  { isSigned, hash }: RefreshToken,
  family: { readonly currentHash: string; readonly previousHash: string | undefined },
): boolean {
  return isSigned || hash === family.currentHash || hash === family.previousHash
}

const purpose = 'successor of a refresh token'

/** Seals the successor so that only the holder of the previous token can read it. */
export function sealSuccessor(successor: string, predecessor: string): string {
  return seal(successor, new Secret(predecessor), purpose)
}

/** Opens what {@link sealSuccessor} sealed. @throws Error for another predecessor */
export function unsealSuccessor(sealed: string, predecessor: string): string {
  return unseal(sealed, new Secret(predecessor), purpose)
}
