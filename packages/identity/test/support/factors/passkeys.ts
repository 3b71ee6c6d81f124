import assert from 'node:assert/strict'
import { hiddenFields, type TestBrowser } from '../journey.ts'
import type { TestResponse } from '../setup.ts'
import type { Authenticator, Deviation } from './authenticator.ts'

/** The options for `navigator.credentials.create` in the page that adds a passkey. */
export function creationOptions(page: TestResponse): object {
  const json = /data-options="([^"]+)"/.exec(page.text)?.[1] ?? assert.fail(page.text)
  return JSON.parse(json.replaceAll('&quot;', '"').replaceAll('&amp;', '&'))
}

/** Registers a passkey of the signed-in user, as the script of the page would. */
export async function registerPasskey(
  browser: TestBrowser,
  authenticator: Authenticator,
  { name = '', ...deviation }: Deviation & { readonly name?: string } = {},
): Promise<TestResponse> {
  const page = await browser.get('/account/passkeys/new')
  const credential = authenticator.create(creationOptions(page), deviation)
  return browser.submit(page, { name, credential })
}

/** The options for `navigator.credentials.get`, for the login page. */
export async function requestOptions(browser: TestBrowser, page: TestResponse): Promise<object> {
  const { form_token = '' } = hiddenFields(page)
  const response = await browser.post('/login/passkey/options', { form_token })
  assert.equal(response.status, 200, response.text)
  return response.body
}

/** Sends a credential from the login page, or from the page that asks for a second factor. */
export function sendCredential(browser: TestBrowser, page: TestResponse, credential: string): Promise<TestResponse> {
  return browser.post('/login/passkey', { ...passkeyFields(page), credential })
}

/** The fields of the page's form for a passkey, which is only one of its forms. */
export function passkeyFields(page: TestResponse): Record<string, string> {
  const text =
    /<form method="post" action="\/login\/passkey".*?<\/form>/s.exec(page.text)?.[0] ?? assert.fail(page.text)
  return hiddenFields({ ...page, text })
}

/** Signs in by a passkey, as the script of the login page would. */
export async function signInByPasskey(
  browser: TestBrowser,
  page: TestResponse,
  authenticator: Authenticator,
  deviation: Deviation = {},
): Promise<TestResponse> {
  const credential = authenticator.get(await requestOptions(browser, page), deviation)
  return sendCredential(browser, page, credential)
}

/** The ids of the user's passkeys, from the page that lists them. */
export async function passkeyIds(browser: TestBrowser): Promise<string[]> {
  const { text } = await browser.get('/account/passkeys')
  return [...text.matchAll(/passkeys\/edit\?id=([0-9a-f-]{36})/g)].map(([, id = '']) => id)
}

/** Submits a decision of the page that edits a passkey. */
export async function editPasskey(
  browser: TestBrowser,
  id: string,
  form: Record<string, string>,
): Promise<TestResponse> {
  const page = await browser.get(`/account/passkeys/edit?id=${id}`)
  return browser.post('/account/passkeys/edit', { ...hiddenFields(page), id, ...form })
}
