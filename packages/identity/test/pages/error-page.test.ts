import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setupOnce } from '../support/setup.ts'

const running = setupOnce({ features: { registration: true }, notify: async () => {} })

for (const [path, next] of [
  ['/password/reset', '/password/forgot'],
  ['/register/confirm', '/register'],
  ['/login/confirm', '/account'],
] as const) {
  test(`the error page of an invalid link at ${path} leads to ${next}`, async () => {
    const page = await running.http.inject(`${path}?token=invalid`)
    assert.equal(page.statusCode, 400)
    assert.match(page.payload, new RegExp(`<a class="button" href="${next}">`))
  })
}
