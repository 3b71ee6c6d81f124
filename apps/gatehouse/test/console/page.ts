import assert from 'node:assert/strict'
import type { Page } from 'playwright-core'

/** Waits until a page is as the expression says; its policy allows no evaluation by its own scripts. */
export async function until(tab: Page, expression: string): Promise<void> {
  const deadline = AbortSignal.timeout(60_000)
  while (!(await tab.evaluate(expression))) {
    assert.ok(!deadline.aborted, `${tab.url()} never came to ${expression}`)
    await tab.evaluate('new Promise(requestAnimationFrame)')
  }
}

/** Waits until every region of a page shows what it has. */
export const loaded = (tab: Page) => until(tab, "document.querySelector('[role=status]') === null")
