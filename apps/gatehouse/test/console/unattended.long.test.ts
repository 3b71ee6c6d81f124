import assert from 'node:assert/strict'
import { describe } from 'node:test'
import { testWith } from '@gatehouse/testing'
import type { Request } from 'playwright-core'
import { consoleOfSuite } from '../support/console.ts'
import { started } from '../support/program.ts'

const minuteMs = 60_000

describe('a page that reads by itself while nobody is there', () => {
  const { tab, faults, heading, open } = consoleOfSuite({ start: () => started(), first: ['/', 'Overview'] })
  /** The next reading of the overview by itself, as its clock goes on: whether it counts as use. */
  const nextIsUse = async (laterMs: number) => {
    const next = tab().waitForRequest((request: Request) => request.url().endsWith('/console/api/system/status'))
    await tab().clock.runFor(laterMs)
    return (await (await next).headerValue('x-console-unattended')) === null
  }

  testWith('chromium', 'its readings are no use, until a key is pressed or the pointer moves', async () => {
    await tab().clock.install()
    await open('/', 'Overview')
    assert.equal(await nextIsUse(20_000), true, 'somebody opened it')
    await tab().clock.runFor(minuteMs)
    assert.equal(await nextIsUse(20_000), false)
    await tab().keyboard.press('Shift')
    assert.equal(await nextIsUse(20_000), true)
    await tab().clock.runFor(minuteMs)
    assert.equal(await nextIsUse(20_000), false)
    await tab().mouse.move(200, 200)
    assert.equal(await nextIsUse(20_000), true)
  })

  testWith('chromium', 'it signs nobody in when the session ended, and somebody goes on where it was', async () => {
    await open('/users?plan=free', 'Users')
    await tab().getByRole('link', { name: 'Overview', exact: true }).click()
    await heading('Overview')
    await tab().clock.runFor(2 * minuteMs)
    await tab()
      .context()
      .clearCookies({ name: /gatehouse-console/ })
    const signIns: string[] = []
    tab().on('request', (request) => {
      if (/\/(login|authorize)\b/.test(request.url())) signIns.push(request.url())
    })
    await tab().clock.runFor(20_000)
    await heading('You are signed out')
    assert.deepEqual(signIns, [])
    await tab().getByRole('button', { name: 'Sign in' }).click()
    await heading('Overview')
    // Somebody who is there is taken to the sign-in and back, as before.
    await open('/users?plan=free', 'Users')
    await tab()
      .context()
      .clearCookies({ name: /gatehouse-console/ })
    await tab().getByRole('link', { name: 'Sessions', exact: true }).click()
    await heading('Sessions')
    assert.deepEqual(faults(), [])
  })
})
