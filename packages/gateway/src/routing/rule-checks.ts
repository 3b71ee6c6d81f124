import type { RouteRule } from '../model/route-rule.ts'
import { shadowedRules, shadowsOf } from './route-table.ts'
import { ruleText, signInFault, templateFault } from './rule-text.ts'

/** Checks the paths of declared rules, the sign-in that they require, and that each can match. @throws RangeError naming the rule */
export function checkRules(declared: readonly RouteRule[]): void {
  for (const rule of declared) {
    const fault = templateFault(rule.path)
    if (fault !== undefined) throw new RangeError(`route ${rule.path}: the path ${fault}`)
    const signIn = signInFault(rule)
    if (signIn !== undefined) throw new RangeError(`route ${ruleText(rule)} ${signIn}`)
  }
  for (const { rule, by } of shadowedRules(declared))
    throw new RangeError(
      `route ${ruleText(rule)} can never match: earlier rules take all its requests: ${by.map(ruleText).join(', ')}`,
    )
}

/** Checks that our own paths leave each rule with an upstream some requests. @throws RangeError naming the rule */
export function checkReserved(declared: readonly RouteRule[], reserved: readonly RouteRule[]): void {
  for (const rule of declared) {
    const by = rule.upstream === undefined ? undefined : shadowsOf(rule, reserved)
    if (by === undefined) continue
    const paths = [...new Set(by.map(({ path }) => path))].join(', ')
    throw new RangeError(`route ${ruleText(rule)} can never match: our own service serves ${paths}`)
  }
}
