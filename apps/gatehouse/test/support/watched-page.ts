import assert from 'node:assert/strict'
import type { BrowserContext, Page } from 'playwright-core'

/** A tab that remembers what went wrong in it. */
export interface WatchedPage {
  readonly page: Page
  /** Fails with every error of a script, violation of a policy and request to another origin so far, and forgets them. */
  expectNothing(what: string): void
}

/** Opens a tab that remembers console errors, uncaught errors, policy violations and requests that leave `origin`. */
export async function openWatched(context: BrowserContext, origin: string): Promise<WatchedPage> {
  const page = await context.newPage()
  const faults: string[] = []
  const foreign: string[] = []
  page.on('console', (message) => {
    if (['error', 'warning'].includes(message.type())) faults.push(message.text())
  })
  page.on('pageerror', (error) => faults.push(error.message))
  page.on('request', (request) => {
    const { protocol, origin: target } = new URL(request.url())
    if (['http:', 'https:', 'ws:', 'wss:'].includes(protocol) && target !== origin) foreign.push(request.url())
  })
  return {
    page,
    expectNothing(what) {
      assert.deepEqual([...faults.splice(0), ...foreign], [], what)
    },
  }
}
