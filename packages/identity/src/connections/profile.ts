import { isEmailAddress } from '@gatehouse/kit'
import { type Connection, type MappedClaim, mappedClaims } from '../model/connection.ts'

/** Who a user is at a provider. */
export interface ProviderProfile {
  /** The issuer and subject: the key of the account. */
  readonly issuer: string
  readonly subject: string
  /** In lower case. Undefined unless the provider vouches that it is the user's. */
  readonly email: string | undefined
  /** Whether the provider assigns the addresses of that domain, and says that this one is verified. */
  readonly isAuthoritative: boolean
  /** Whether it would be so if the provider assigned the addresses of that domain. */
  readonly isVerified: boolean
  readonly claims: Readonly<Partial<Record<MappedClaim, string>>>
}

/** Claims of a provider about a user. */
export type ProviderClaims = Readonly<Record<string, unknown>>

const maxClaimLength = 200
const maxPictureLength = 2_048
const maxSubjectLength = 255

/** The provider's response names nobody who may sign in. */
export class UnacceptableProfile extends Error {
  override readonly name = 'UnacceptableProfile'
}

/** Reads the claims of a provider by the rules of the connection. @throws UnacceptableProfile */
export function readProfile(connection: Connection, issuer: string, claims: ProviderClaims): ProviderProfile {
  const { settings } = connection
  const { sub } = claims
  if (typeof sub !== 'string' || sub === '' || sub.length > maxSubjectLength || sub.includes('\u0000'))
    throw new UnacceptableProfile('sub must be a string of 1 to 255 characters')
  requireTenant(settings, claims)
  const verified = isEmailVerified(settings, claims)
  const claimed = verified || settings.trust_email === true ? readEmail(claims.email) : undefined
  const email = claimed !== undefined && isOfDomains(settings, claimed) ? claimed : undefined
  return {
    issuer,
    subject: sub,
    email,
    ...readTrust(settings, verified ? email : undefined, claims),
    claims: readClaims(settings, claims),
  }
}

type Settings = Connection['settings']

/** A connection with domains vouches for no other address. */
function isOfDomains({ domains }: Settings, email: string): boolean {
  return domains === undefined || domains.includes(email.slice(email.lastIndexOf('@') + 1))
}

/** The tenant or Workspace domain in the token itself must be an allowed one. */
function requireTenant(
  { kind, tenants = [], hosted_domain: hostedDomain }: Settings,
  { tid, hd }: ProviderClaims,
): void {
  if (kind === 'microsoft' && !(typeof tid === 'string' && tenants.includes(tid)))
    throw new UnacceptableProfile(`the tenant ${String(tid)} is not allowed`)
  if (hostedDomain !== undefined && hd !== hostedDomain)
    throw new UnacceptableProfile(`the domain ${String(hd)} is not allowed`)
}

/**
 * Whether the provider says that the address was verified. Apple may write the boolean as a string; Entra has no
 * `email_verified`, and its `email` can be changed by anyone who manages a tenant.
 */
function isEmailVerified({ kind }: Settings, { email_verified: verified, xms_edov: domainVerified }: ProviderClaims) {
  if (kind === 'microsoft') return domainVerified === true
  return verified === true || (kind === 'apple' && verified === 'true')
}

/** Google keeps addresses of other domains that were verified once; only `hd` says that the domain is managed there. */
function readTrust(
  { kind, authoritative_domains: domains = [] }: Settings,
  email: string | undefined,
  { hd }: ProviderClaims,
): Pick<ProviderProfile, 'isAuthoritative' | 'isVerified'> {
  if (email === undefined) return { isAuthoritative: false, isVerified: false }
  const domain = email.slice(email.lastIndexOf('@') + 1)
  const isVerified = kind !== 'google' || domain === 'gmail.com' || hd === domain
  return { isAuthoritative: isVerified && domains.includes(domain), isVerified }
}

/** Other scripts have look-alikes of every letter, of @ and of the dot; such an address is not compared with any. */
const ascii = /^[\x21-\x7e]+$/

function readEmail(value: unknown): string | undefined {
  return typeof value === 'string' && ascii.test(value) && isEmailAddress(value) ? value.toLowerCase() : undefined
}

function readClaims({ claim_names: names = {} }: Settings, claims: ProviderClaims): ProviderProfile['claims'] {
  const read = mappedClaims.map((claim) => [claim, readClaim(claim, claims[names[claim] ?? claim])] as const)
  return Object.fromEntries(read.filter(([, value]) => value !== undefined))
}

function readClaim(claim: MappedClaim, value: unknown): string | undefined {
  if (typeof value !== 'string' || value.trim() === '' || value.includes('\u0000')) return undefined
  if (claim === 'picture')
    return value.length <= maxPictureLength && URL.parse(value)?.protocol === 'https:' ? value : undefined
  return value.trim().slice(0, maxClaimLength).toWellFormed()
}
