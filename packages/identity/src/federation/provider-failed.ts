import { PageError, signInNext } from '../pages/page-error.ts'

/** The one page of every response of a provider that is not accepted: it says nothing about the cause. */
export function providerFailed(): PageError {
  return new PageError(400, 'provider.failed', {}, signInNext)
}
