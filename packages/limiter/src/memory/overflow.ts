import { isAllowed } from '../algorithms/counters.ts'
import type { AcquireRequest, CounterResult } from '../store.ts'
import { Sketch } from './sketch.ts'

/** Acquires for an identifier that found no slot: every rule counts in a sketch, as a sliding window of its length. */
export function acquireOverflow(
  sketches: Map<string, Sketch>,
  { policy, identifier, cost, now }: AcquireRequest,
): CounterResult {
  const { rules } = policy
  const { kind, id } = identifier
  const sketchOf = rules.map((rule) => openSketch(sketches, `${kind} ${rule.family}`, rule.windowMs))
  const violated = rules.reduce(
    (bits, rule, i) => (sketchOf[i]?.admits(id, rule, cost, now) ? bits : bits | (1 << i)),
    0,
  )
  const allowed = isAllowed(rules, violated)
  sketchOf.forEach((sketch, i) => {
    if (allowed && (violated & (1 << i)) === 0) sketch.add(id, cost, now)
  })
  const counters = rules.flatMap((rule, i) => {
    const [prev, cur] = sketchOf[i]?.read(id, now) ?? [0, 0]
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
