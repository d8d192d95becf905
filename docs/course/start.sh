# Prepares a terminal for the course. At the first time, in an empty folder; later, in the same folder:
#   source ~/dikkat/docs/course/start.sh
# It links the project's texts and programs, installs dikkat into the folder `installed`, and puts dikkat and check.py on the PATH. A build in
# another folder than build/release is named by DIKKAT_BUILD.
course_root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
course_build=${DIKKAT_BUILD:-$course_root/build/release}
if [ "$PWD" = "$course_root" ] || [ "$PWD" = "$HOME" ]; then
  echo "start.sh: found the folder $PWD, expected one for the course: mkdir ~/course && cd ~/course, then once more" >&2
elif [ ! -x "$course_build/dikkat" ]; then
  echo "start.sh: found no $course_build/dikkat: build it with $course_root/scripts/quickstart.sh" >&2
elif [ ! -e installed/lib/pkgconfig/dikkat.pc ] && ! cmake --install "$course_build" --prefix "$PWD/installed" > installed.log; then
  echo "start.sh: cmake could not install $course_build into $PWD/installed" >&2
else
  ln -sfn "$course_root/data" data
  ln -sfn "$course_root/examples" examples
  export PATH=$PWD/installed/bin:$course_root/docs/course:$PATH
  export PKG_CONFIG_PATH=$PWD/installed/lib/pkgconfig
  dikkat --version
fi
