import { isAllowed } from '../algorithms/counters.ts'
import * as tokenBucket from '../algorithms/token-bucket.ts'
import type { Identifier } from '../key.ts'
import type { Policy } from '../policy.ts'
import type { CountedRule } from '../rule.ts'
import type { AcquireRequest, AddRequest, CounterResult } from '../store.ts'
import { Sketch } from './sketch.ts'

/** Acquires for an identifier that found no slot: every rule counts in a sketch, as a sliding window of its length. */
export function acquireOverflow(
  sketches: Map<string, Sketch>,
  { policy, identifier, cost, now }: AcquireRequest,
): CounterResult {
  const { rules } = policy
  const { kind, id } = identifier
  const sketchOf = rules.map((rule) => openSketch(sketches, nameOf(kind, rule), rule.windowMs))
  const violated = rules.reduce(
    (bits, rule, i) => (sketchOf[i]?.admits(id, rule, cost, now) ? bits : bits | (1 << i)),
    0,
  )
  const allowed = isAllowed(rules, violated)
  sketchOf.forEach((sketch, i) => {
    if (allowed && (violated & (1 << i)) === 0) sketch.add(id, cost, now)
  })
  const counters = rules.flatMap((rule, i) => countersOf(sketchOf[i], rule, id, now))
  return { allowed, violated, counters, now }
}

/** Decides on a request of cost 1, without counting it, for an identifier that would find no slot. */
export function peekOverflow(
  sketches: ReadonlyMap<string, Sketch>,
  { policy, identifier, now }: Pick<AcquireRequest, 'policy' | 'identifier' | 'now'>,
): CounterResult {
  const { rules } = policy
  const { kind, id } = identifier
  let violated = 0
  const counters = rules.flatMap((rule, i) => {
    const sketch = sketches.get(nameOf(kind, rule))
    if (sketch?.admits(id, rule, 1, now) === false) violated |= 1 << i
    return countersOf(sketch, rule, id, now)
  })
  return { allowed: isAllowed(rules, violated), violated, counters, now }
}

/**
 * Adds for an identifier that found no slot. The result shows what had an effect: units are returned to a limited number
 * of identifiers in the sketch.
 */
export function addOverflow(sketches: Map<string, Sketch>, request: AddRequest): CounterResult {
  const { policy, identifier, amounts, now, countedAt } = request
  const { kind, id } = identifier
  policy.rules.forEach((rule, i) => {
    const sketch = openSketch(sketches, nameOf(kind, rule), rule.windowMs)
    const amount = amounts[i] ?? 0
    if (rule.algorithm !== 'token-bucket') sketch.add(id, amount, now, countedAt)
    else if (amount < 0) sketch.returnUnits(id, -amount, now)
    else sketch.add(id, amount, now)
  })
  return peekOverflow(sketches, request)
}

/** Raises counters for an identifier that found no slot. */
export function raiseOverflow(
  sketches: Map<string, Sketch>,
  { policy, identifier, now }: Pick<AcquireRequest, 'policy' | 'identifier' | 'now'>,
  counters: readonly number[],
): CounterResult {
  const { kind, id } = identifier
  policy.rules.forEach((rule, i) => {
    const sketch = openSketch(sketches, nameOf(kind, rule), rule.windowMs)
    const [a = 0, b = 0] = counters.slice(2 * i)
    if (rule.algorithm !== 'token-bucket') sketch.raise(id, [a, b], now)
    else {
      const [prev] = sketch.read(id, now)
      sketch.raise(id, [0, rule.limit - tokenBucket.refill(rule, a, b, now) - prev], now)
    }
  })
  return peekOverflow(sketches, { policy, identifier, now })
}

/** Forgets what the sketches count of an identifier, as far as they can remember that. */
export function resetOverflow(
  sketches: ReadonlyMap<string, Sketch>,
  { rules }: Policy,
  { kind, id }: Identifier,
  now: number,
): void {
  for (const rule of rules) sketches.get(nameOf(kind, rule))?.reset(id, now)
}

function countersOf(sketch: Sketch | undefined, rule: CountedRule, id: string, now: number): [number, number] {
  const [prev, cur] = sketch?.read(id, now) ?? [0, 0]
  return rule.algorithm === 'token-bucket' ? [Math.max(0, rule.limit - prev - cur), now] : [prev, cur]
}

const nameOf = (kind: string, { family }: CountedRule): string => `${kind} ${family}`

function openSketch(sketches: Map<string, Sketch>, name: string, windowMs: number): Sketch {
  let sketch = sketches.get(name)
  if (!sketch) {
    sketch = new Sketch(windowMs)
    sketches.set(name, sketch)
  }
  return sketch
}
