import assert from 'node:assert/strict'
import { EventEmitter, once } from 'node:events'
import type { Browser, BrowserContext, Route } from 'playwright-core'
import { inboxModules } from '../../src/dev-pages/inbox/inbox-modules.ts'

const origin = 'https://shop.example'
const html = `<!doctype html><html lang="en"><title>Shop</title><gatehouse-inbox align="start"></gatehouse-inbox>
<script type="module" src="/index.js"></script>`

interface PageOptions {
  /** Runs before the scripts of the page. */
  readonly script?: string
  /** The page's own headers. */
  readonly headers?: Readonly<Record<string, string>>
  /** Whether the test moves the page's clock. */
  readonly clock?: boolean
}

/** For a page that is not let into its own origin. */
const anyOrigin = { 'access-control-allow-origin': '*' }

/**
 * A page with the inbox component in a browser or in a context that several pages share. The test answers each request,
 * when it likes.
 */
export async function openInbox(
  browser: Browser | BrowserContext | undefined,
  { script, headers, clock }: PageOptions = {},
) {
  const tab = (await browser?.newPage()) ?? assert.fail('there is no browser')
  tab.setDefaultTimeout(10_000)
  if (clock) {
    await tab.clock.install()
    // The one timer that the clock leaves alone.
    await tab.addInitScript(`AbortSignal.timeout = (milliseconds) => {
      const ending = new AbortController()
      setTimeout(() => ending.abort(new DOMException('too late', 'TimeoutError')), milliseconds)
      return ending.signal
    }`)
  }
  if (script !== undefined) await tab.addInitScript(script)
  const waiting: Array<{ readonly name: string; readonly route: Route }> = []
  const arrivals = new EventEmitter()
  await tab.route(`${origin}/**`, (route) => {
    const { pathname: path } = new URL(route.request().url())
    const module = inboxModules().get(path.slice(1))
    if (path === '/') return route.fulfill({ contentType: 'text/html', body: html, headers: headers ?? {} })
    if (module !== undefined) return route.fulfill({ contentType: 'text/javascript', body: module, headers: anyOrigin })
    if (path === '/healthz') return route.fulfill({ json: {}, headers: anyOrigin })
    waiting.push({ name: `${route.request().method()} ${path.replace('/v1/users/', '')}`, route })
    arrivals.emit('request')
  })
  await tab.goto(origin)
  await tab.evaluate(`(() => {
    const inbox = document.querySelector('gatehouse-inbox')
    inbox.getToken = () => inbox.getAttribute('user-id')
  })()`)
  return {
    tab,
    /** Has the inbox show the messages of somebody else. */
    give: (user: string) =>
      tab.evaluate(`document.querySelector('gatehouse-inbox').setAttribute('user-id', '${user}')`),
    /** The oldest request by this name that waits for its answer. */
    async request(name: string): Promise<Route> {
      for (;;) {
        const at = waiting.findIndex((each) => each.name === name)
        const [found] = at < 0 ? [] : waiting.splice(at, 1)
        if (found) return found.route
        await once(arrivals, 'request', { signal: AbortSignal.timeout(10_000) })
      }
    },
    /** The requests that nobody asked for. */
    unanswered: () => waiting.map(({ name }) => name),
    /** Resolves once the page has what was answered before, since this takes a way that is longer. */
    settled: () => tab.evaluate("fetch('/healthz').then((answer) => answer.json())"),
  }
}

/** A first page of the feed, of items that are new. */
export const feed = (ids: readonly string[], next?: string) => ({
  items: ids.map((id) => ({ id, event: 'test', body: `Body of ${id}`, created_at: '2026-01-01T00:00:00Z' })),
  counts: { sequence: ids.length, total: ids.length, unseen: ids.length, unread: ids.length },
  ...(next === undefined ? {} : { next }),
})
