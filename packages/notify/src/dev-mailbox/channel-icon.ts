import { Html } from '@gatehouse/kit/page'
import type { Channel } from '../model/channel.ts'

const paths: Readonly<Record<Channel, string>> = {
  email: '<rect x="3" y="5" width="18" height="14" rx="2"/><path d="m3 7 9 6 9-6"/>',
  push: '<path d="M18 9a6 6 0 1 0-12 0c0 6-2.5 7.5-2.5 7.5h17S18 15 18 9M10 20.5a2.2 2.2 0 0 0 4 0"/>',
  sms: '<path d="M20 15.5a2 2 0 0 1-2 2H8L4 21V5.5a2 2 0 0 1 2-2h12a2 2 0 0 1 2 2z"/>',
  'in-app': '<path d="M4 13h4l1.5 3h5L16 13h4M5.5 5h13L21 13v5a2 2 0 0 1-2 2H5a2 2 0 0 1-2-2v-5z"/>',
}

/** The sign of a channel, beside its name. */
export function channelIcon(channel: Channel): Html {
  return new Html(`<svg class="icon" viewBox="0 0 24 24" aria-hidden="true" focusable="false">${paths[channel]}</svg>`)
}
