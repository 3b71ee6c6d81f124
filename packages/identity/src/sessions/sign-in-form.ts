import type { PageContext } from '../context/context.ts'
import { normalizeName, type User } from '../model/user.ts'
import type { Parameters } from '../oauth/parameters.ts'
import { type Browser, checkForm, isFormOf } from './browser.ts'
import { resumeSealed } from './finish-sign-in.ts'
import { type BrowserExchange, sendSignInPageAgain } from './sign-in-page.ts'

/** What a form of a sign-in is about. */
export interface SignInForm {
  /** The sealed continuation. Default: the one in the form. */
  readonly continuation?: string
  /** The name or address that was entered. */
  readonly name?: string | undefined
  /** Whether it is about this user. Default: where the name is theirs, or none was entered. */
  readonly isAbout?: (user: User) => boolean | Promise<boolean>
}

/**
 * The browser that a form of a sign-in was made for: as it was before a sign-in in another tab, where the form is older
 * than that.
 */
export function browserOfForm(
  context: Pick<PageContext, 'formMac'>,
  browser: Browser,
  parameters: Parameters,
): Browser {
  const before = { id: browser.id, signedIn: undefined }
  return browser.signedIn !== undefined && isFormOf(context, before, parameters) ? before : browser
}

/**
 * Checks a form of a sign-in as {@link checkForm} does. One from before the user signed in in another tab is answered
 * here: it resumes what it was for, as a reload of its page does, and nothing that was proven is looked at. When it is
 * about somebody else the sign-in page is sent again instead, so that nobody goes on as another user unawares.
 *
 * @returns whether a response was sent
 * @throws PageError 403 as `checkForm`, 400 for a continuation of another browser or an old one
 */
export async function answersOlderForm(
  context: PageContext,
  exchange: BrowserExchange,
  parameters: Parameters,
  { continuation, name = '', isAbout = (user) => isNameOf(user, name) }: SignInForm = {},
): Promise<boolean> {
  const { request, browser } = exchange
  const madeFor = browserOfForm(context, browser, parameters)
  checkForm(context, request, madeFor, parameters)
  if (browser.signedIn === undefined || madeFor === browser) return false
  const { user } = browser.signedIn
  const sealed = continuation ?? parameters.getRequired('continuation')
  if (await isAbout(user)) resumeSealed(context, exchange, sealed)
  else {
    const failure = { wrong: 'login.elsewhere', values: { user: user.email ?? user.username }, status: 409 }
    sendSignInPageAgain(context, exchange, sealed, name === '' ? failure : { ...failure, name })
  }
  return true
}

function isNameOf({ username, email }: User, entered: string): boolean {
  const name = normalizeName(entered)
  return name === '' || name === username || name === normalizeName(email ?? '')
}
