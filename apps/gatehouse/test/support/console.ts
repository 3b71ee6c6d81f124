import assert from 'node:assert/strict'
import type { Page } from 'playwright-core'

/** Collects what a page may not do: errors in its console, and violations of its policy. */
export function watchFaults(page: Page, accept: (text: string) => boolean = () => false): string[] {
  const faults: string[] = []
  page.on('console', (message) => {
    if (message.type() === 'error' && !accept(message.text())) faults.push(message.text())
  })
  page.on('pageerror', (error) => faults.push(String(error)))
  return faults
}

/** The password that the first run printed. */
export function seededPassword(stdout: string): string {
  return /user +alice +password (\S+)/.exec(stdout)?.[1] ?? assert.fail('no password was printed')
}

/** Signs in on the pages of the identity service, where the console sent the browser. */
export async function signInOnPages(page: Page, username: string, password: string): Promise<void> {
  await page.locator('input[name=username]').fill(username)
  await page.locator('input[name=password]').fill(password)
  await page.locator('button[type=submit]').first().click()
}
