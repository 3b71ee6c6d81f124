import type { NextStep } from '../page-error.ts'

/**
 * The pages about signing in, as the account page lists them. A page of its own is added here, and offered where its
 * feature is on.
 */
export function listSecurityPages(): readonly NextStep[] {
  return [{ href: '/account/password', text: 'account.password' }]
}
