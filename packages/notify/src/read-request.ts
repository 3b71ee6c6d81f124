import { type Fault, findTextFault } from '@gatehouse/kit'
import { Compile } from 'typebox/compile'
import type { NotifyRequest } from './notification.ts'
import { NotifyBody } from './notify-body.ts'

const body = Compile(NotifyBody)
const mostFaults = 20

/** A notify request that did not come through a route's own validation: the request, or every fault in it. */
export function readRequest(value: unknown): NotifyRequest | readonly Fault[] {
  if (!body.Check(value))
    return body
      .Errors(value)
      .slice(0, mostFaults)
      .map(({ instancePath, message }) => ({ pointer: instancePath || '/', detail: message }))
  const fault = findTextFault(value)
  if (fault !== undefined) return [fault]
  return value as NotifyRequest
}

/** Faults in one line. */
export function tellFaults(faults: readonly Fault[]): string {
  return faults.map(({ pointer, detail }) => `${pointer} ${detail}`).join('; ')
}
