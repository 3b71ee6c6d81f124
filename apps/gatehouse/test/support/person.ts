import assert from 'node:assert/strict'

/** A person's browser on the way to a client: it keeps cookies, signs in, and answers the code. */
export async function codeFor(
  front: string,
  credentials: Readonly<Record<'username' | 'password', string>>,
  query: Readonly<Record<string, string>>,
): Promise<string> {
  const page = await fetch(`${front}/authorize?${new URLSearchParams(query)}`)
  const cookie = page.headers.getSetCookie().map((line) => line.split(';', 1)[0])
  const body = new URLSearchParams(credentials)
  for (const [, name = '', value = ''] of (await page.text()).matchAll(/type="hidden" name="([^"]+)" value="([^"]*)"/g))
    body.set(name, value)
  let response = await fetch(`${front}/login`, {
    method: 'POST',
    body,
    redirect: 'manual',
    headers: { cookie: cookie.join('; ') },
  })
  const cookies = [...cookie, ...response.headers.getSetCookie().map((line) => line.split(';', 1)[0])].join('; ')
  for (let step = 0; step < 5; step++) {
    const next = new URL(response.headers.get('location') ?? assert.fail(await response.text()), front)
    if (next.origin !== front) return next.searchParams.get('code') ?? assert.fail(next.href)
    response = await fetch(next, { redirect: 'manual', headers: { cookie: cookies } })
  }
  return assert.fail('the browser was sent in circles')
}
