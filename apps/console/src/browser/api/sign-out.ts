import { removeForms } from '../forms/kept.ts'
import { callConsole } from './call.ts'
import { leaveAtOnce, leaveForGood } from './leaving.ts'

/*
 * A sign-out is one of every tab of the browser. Identity may know the person still: a tab that heard of it by a refused
 * call alone would sign in again by itself, and one that calls nothing would go on showing what it has.
 */

type Step = 'begun' | 'failed' | 'done'

let tabs: BroadcastChannel | undefined
let underWay = false

/** The channel between the tabs; a tab does not hear its own messages. */
function channel(): BroadcastChannel {
  tabs ??= new BroadcastChannel('gatehouse-console-sign-out')
  return tabs
}

/** Whether this tab or another one is signing out: a session that ends meanwhile is not begun anew. */
export function isSigningOut(): boolean {
  return underWay
}

/** Signs out in every tab, and goes on to where one signs out of identity as well. @throws ApiError, ConnectionError */
export async function signOut(): Promise<void> {
  const publish = (step: Step) => channel().postMessage(step)
  underWay = true
  publish('begun')
  try {
    const { location } = await callConsole<{ location: string }>('POST', '/sign-out')
    publish('done')
    leaveForGood()
    removeForms(sessionStorage)
    window.location.assign(location)
  } catch (error) {
    underWay = false
    publish('failed')
    throw error
  }
}

/** Leaves the screens when another tab signs out. Returns how to stop that. */
export function followSignOut(): () => void {
  const follow = ({ data: step }: MessageEvent<Step>) => {
    underWay = step !== 'failed'
    if (step !== 'done') return
    leaveAtOnce()
    removeForms(sessionStorage)
    window.location.assign('/console/signed-out')
  }
  channel().addEventListener('message', follow)
  return () => channel().removeEventListener('message', follow)
}
