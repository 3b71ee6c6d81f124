import type { Identifier } from '../key.ts'
import type { Policy } from '../policy.ts'
import type { CounterResult } from '../store.ts'
import { Sketch } from './sketch.ts'

/** Takes for an identifier that found no place: every rule counts in a sketch, as a sliding window of its length. */
export function acquireOverflow(
  sketches: Map<string, Sketch>,
  policy: Policy,
  identifier: Identifier,
  cost: number,
  now: number,
): CounterResult {
  const counting = policy.rules.map((rule) => openSketch(sketches, `${identifier.kind} ${rule.family}`, rule.windowMs))
  let violated = 0
  let allowed = true
  policy.rules.forEach((rule, i) => {
    if (counting[i]?.admits(identifier.id, rule.limit, cost, now)) return
    violated |= 1 << i
    allowed &&= rule.shadow
  })
  counting.forEach((sketch, i) => {
    if (allowed && (violated & (1 << i)) === 0) sketch.add(identifier.id, cost, now)
  })
  const counters = policy.rules.flatMap((rule, i) => {
    const [prev, cur] = counting[i]?.read(identifier.id, now) ?? [0, 0]
    return rule.algorithm === 'token-bucket' ? [Math.max(0, rule.limit - prev - cur), now] : [prev, cur]
  })
  return { allowed, violated, counters, now }
}

function openSketch(sketches: Map<string, Sketch>, name: string, windowMs: number): Sketch {
  let sketch = sketches.get(name)
  if (!sketch) {
    sketch = new Sketch(windowMs)
    sketches.set(name, sketch)
  }
  return sketch
}
