export const meta = {name: 'team', description: 'Asks agents side by side and in a row, and runs a command'}

phase('first')
const first = await parallel([0, 1, 2, 3].map(i => () => agent('MARK:s' + i, {label: 's' + i})))
log(first.length + ' have spoken')
const ran = await shell(['sh', '-c', 'echo script >> effects.log'])
const rest = await pipeline(first, (said, _, i) => agent('MARK:p' + i), (said, _, i) => agent('MARK:q' + i))
return {first, rest, code: ran.exitCode}
