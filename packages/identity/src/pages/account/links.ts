import type { NextStep } from '../page-error.ts'

/** Which pages the account has, beside that of the password. */
export interface OfferedPages {
  /** Whether there is a password to change, or a first one to set. */
  readonly hasPassword: boolean
  readonly passkeys: boolean
  readonly factors: boolean
  /** Those of accounts at other identity providers. */
  readonly providers: boolean
  readonly organizations: boolean
}

/** The pages about signing in, as the account page lists them. A page of its own is added here. */
export function listSecurityPages(offered: OfferedPages): readonly NextStep[] {
  return [
    { href: '/account/password', text: offered.hasPassword ? 'account.password' : 'password.first.title' },
    ...(offered.passkeys ? [{ href: '/account/passkeys', text: 'passkeys.title' }] : []),
    ...(offered.factors ? [{ href: '/account/factors', text: 'account.factors' }] : []),
    ...(offered.providers ? [{ href: '/account/providers', text: 'account.providers' }] : []),
    ...(offered.organizations ? [{ href: '/account/organizations', text: 'organizations.title' }] : []),
  ]
}
