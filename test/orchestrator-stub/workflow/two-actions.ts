/** A template with two actions, named as in the built-in ones. */
export const TWO_ACTIONS = {
  name: 'two',
  text: `version: "0.1"
name: two
global_timeout: 600
tasks:
  - name: work
    worker: 52:54:00:12:34:56
    actions:
      - {name: stream-os-image, image: example.org/a/one:1, timeout: 60}
      - {name: reboot, image: example.org/a/two:1, timeout: 60}
`,
};
