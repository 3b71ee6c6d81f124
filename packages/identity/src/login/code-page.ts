import type { PageAnswer, Texts } from '@gatehouse/kit/page'
import type { LoginContext } from '../context/features.ts'
import { codeField, formPage } from '../pages/form-page.ts'
import { signInNext } from '../pages/page-error.ts'
import { type Browser, formToken } from '../sessions/browser.ts'

/** The content of the page that waits for a mailed code. */
export interface CodePage {
  readonly browser: Browser
  /** What the code belongs to. */
  readonly challenge: string
  /** The name or address that was entered: whom the page is about, with an account or not. */
  readonly name: string
  /** Sealed. */
  readonly continuation: string
  /** The origin where the browser ends. */
  readonly target: string | undefined
  /** The key of the fault of what was entered. */
  readonly wrong?: string
  /** Whether the code confirms a password that was entered on an unknown device. */
  readonly confirms?: boolean
}

/** The page that waits for a mailed code: the same whether one was mailed or not. */
export function codePage(context: LoginContext, texts: Texts, page: CodePage): PageAnswer {
  const { browser, challenge, name, continuation, target, wrong, confirms = false } = page
  const form = formPage(texts, {
    key: confirms ? 'confirm.code' : 'code',
    action: '/login/code/confirm',
    formToken: formToken(context, browser),
    hidden: { challenge, name, continuation },
    fields: [codeField],
    values: { minutes: String(Math.round(context.lifetimes.emailCode / 60)) },
    back: { ...signInNext, text: 'code.back' },
    ...(wrong === undefined ? {} : { wrong, wrongField: codeField.name }),
  })
  return { ...form, formTargets: target === undefined ? [] : [target] }
}
